/* How both fakes read the text file that says what they answer: WORD REST, a line each. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Hand every line of the file that the environment variable names to `take`; 0 without a file. */
static int read_script(const char *variable, void (*take)(const char *word, char *rest)) {
  const char *path = getenv(variable);
  FILE *file = path ? fopen(path, "r") : NULL;
  char line[512];
  if (!file) return 0;
  while (fgets(line, sizeof line, file)) {
    char *rest = strchr(line, ' ');
    if (!rest) continue;
    *rest++ = 0;
    rest[strcspn(rest, "\r\n")] = 0;
    take(line, rest);
  }
  fclose(file);
  return 1;
}
