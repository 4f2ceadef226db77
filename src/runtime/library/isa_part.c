/* Names the kernels of an instruction set, which a library asks for by this: there is nothing to
 * do but to be linked. */
#define PART_OF(isa) tercel_part_##isa
#define PART(isa) PART_OF(isa)
void PART(TERCEL_ISA)(void);
void PART(TERCEL_ISA)(void) {}
