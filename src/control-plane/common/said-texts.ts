// Checks of names and descriptions that people give to servers and compositions. Cold path.
import { limits } from '../../shared/index.js';

const NAME_CHARS = /^[A-Za-z0-9_.\- ]+$/;

/** What is wrong with a name, as words that follow the member's; `undefined` when nothing is. */
export function nameFault(name: string): string | undefined {
  if (name.length > limits.serverNameCharsMax || !NAME_CHARS.test(name))
    return `must be 1 to ${limits.serverNameCharsMax} of A-Z, a-z, 0-9, '_', '.', '-' and space`;
  return name === name.trim() ? undefined : 'must not begin or end with a space';
}

/** The same for a description; also `undefined` when none is given. */
export function descriptionFault(description: string | undefined): string | undefined {
  if (description === undefined) return undefined;
  if (description.length > limits.serverDescriptionCharsMax)
    return `must have at most ${limits.serverDescriptionCharsMax} characters`;
  return description.isWellFormed() ? undefined : NO_UNICODE;
}

export const NO_UNICODE = 'must be Unicode text';
