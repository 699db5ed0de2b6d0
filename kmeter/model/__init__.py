"""Pure arithmetic on frozen values: no device, no clock, no printing, standard library only."""
