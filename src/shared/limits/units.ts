// Bytes, for the files beside this one.

export const KIB = 1024;
export const MIB = 1024 * KIB;
