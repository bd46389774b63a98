// Byte units for the limits in this folder.

export const KIB = 1024;
export const MIB = 1024 * KIB;
