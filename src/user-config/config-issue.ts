// Faults and oddities of a user config, by member, and how they are described: never with a value. Cold path.
import { limits } from '../shared/limits.js';

/** Faults of one user config that are reported. Beyond it, the others are only counted. */
const USER_CONFIG_ISSUES_MAX = 10;

export interface ConfigIssue {
  readonly path: readonly PropertyKey[];
  /** Continues the member's name: `must be a string`. */
  readonly message: string;
  /** The known member that an unknown one was probably meant to be. */
  readonly meant?: string;
}

/** One line for a log, or for the response to the config's author; only the first few issues, `''` for none. */
export function describeIssues(issues: readonly ConfigIssue[]): string {
  const told = issues.slice(0, USER_CONFIG_ISSUES_MAX).map(describeIssue);
  const untold = issues.length - told.length;
  return untold > 0 ? `${told.join('; ')}; and ${untold} more` : told.join('; ');
}

export function describeIssue({ path, message }: ConfigIssue): string {
  const member = path.map(String).join('.').slice(0, limits.userConfigIssuePathCharsMax);
  return member === '' ? message : `${member}: ${message}`;
}
