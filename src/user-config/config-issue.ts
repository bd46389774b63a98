// What is wrong with a user config, or odd about it, member by member, and how that is told: never with a value. Cold.
import { limits } from '../shared/limits.js';

export interface ConfigIssue {
  readonly path: readonly PropertyKey[];
  /** Goes on from the member's name: `must be a string`. */
  readonly message: string;
  /** The known member that an unknown one was probably meant to be. */
  readonly meant?: string;
}

/** In one line for a log, or for the answer to whoever wrote the config; the first few of them, `''` for none. */
export function describeIssues(issues: readonly ConfigIssue[]): string {
  const told = issues.slice(0, limits.userConfigIssuesMax).map(describeIssue);
  const untold = issues.length - told.length;
  return untold > 0 ? `${told.join('; ')}; and ${untold} more` : told.join('; ');
}

export function describeIssue({ path, message }: ConfigIssue): string {
  const member = path.map(String).join('.').slice(0, limits.userConfigIssuePathCharsMax);
  return member === '' ? message : `${member}: ${message}`;
}
