// The roles that a token can grant for servers and compositions: each includes those before it. Cold path.

export const roles = ['reader', 'editor', 'admin'] as const;

export type Role = (typeof roles)[number];

/** @param has `undefined`: no role. */
export function isRoleEnough(has: Role | undefined, wanted: Role): boolean {
  return has !== undefined && roles.indexOf(has) >= roles.indexOf(wanted);
}
