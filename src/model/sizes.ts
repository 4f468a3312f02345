/** In bytes. */
export const MIB = 2 ** 20
