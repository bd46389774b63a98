// What a token lets somebody do with servers and compositions: each role may do what those before it may. Cold.

export const roles = ['reader', 'editor', 'admin'] as const;

export type Role = (typeof roles)[number];

/** @param has `undefined`: none. */
export function isRoleEnough(has: Role | undefined, wanted: Role): boolean {
  return has !== undefined && roles.indexOf(has) >= roles.indexOf(wanted);
}
