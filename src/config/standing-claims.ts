// `--token-roles-claim`, `--token-teams-claim` and `--token-role-names`: the claims that hold a caller's role and teams.
import { limits, roles, type Role } from '../shared/index.js';
import { InvalidValue } from './faults.js';
import { parseList } from './values.js';

type RoleNames = Readonly<Record<Role, readonly string[]>>;

/**
 * The path of member names from the payload to the claim. A text with a colon or a slash is one name, as identity providers name custom
 * claims by URLs; otherwise a dot separates names, and `\.` is a literal dot.
 */
export function parseClaimPath(text: string): readonly string[] {
  if (text.length > limits.claimPathCharsMax) {
    throw new InvalidValue(`expects at most ${limits.claimPathCharsMax} characters`);
  }
  const isOneStep = /[:/]/.test(text);
  const steps = isOneStep ? [text] : text.split(/(?<!\\)\./).map((step) => step.replaceAll('\\.', '.'));
  if (steps.some((step) => step.trim() === '')) {
    throw new InvalidValue('expects the name of a claim, e.g. roles, realm_access.roles or https://example.com/roles');
  }
  return steps;
}

/** Comma-separated `role=value`: the values that stand for a role, instead of its own name. */
export function parseRoleNames(text: string): RoleNames {
  const named = parseList(text, (item) => {
    const [, left = '', value = ''] = /^([^=]*?)\s*=\s*(.*)$/s.exec(item) ?? [];
    const role = roles.find((each) => each === left);
    if (role !== undefined && value !== '') return { role, value };
    throw new InvalidValue(`is not role=value, e.g. editor=mcp-editors; roles: ${roles.join(', ')}`);
  });
  const values = named.map(({ value }) => value);
  const twice = values.find((value, index) => values.indexOf(value) !== index);
  if (twice !== undefined) throw new InvalidValue(`names ${twice} twice; each value can mean only one role`);
  const namesOf = (role: Role): readonly string[] => {
    const names = named.filter((each) => each.role === role).map(({ value }) => value);
    return names.length === 0 ? OWN_ROLE_NAMES[role] : names;
  };
  return { reader: namesOf('reader'), editor: namesOf('editor'), admin: namesOf('admin') };
}

/** Used when `--token-role-names` is not given. */
export const OWN_ROLE_NAMES: RoleNames = { reader: ['reader'], editor: ['editor'], admin: ['admin'] };
