// Limits on the registry and the compositions of a test: the options' defaults, except for those that the test sets.
import { loadControlPlaneOptions } from '../../src/config/load-control-plane-options.js';
import { commands } from '../../src/commands.js';
import { readCommandLine } from '../../src/config/command-line.js';
import type { CommandWords } from '../../src/config/command.js';
import type { ComposerShares } from '../../src/config/control-plane-options.js';

export function composerShares(bounds: Partial<ComposerShares> = {}): ComposerShares {
  const { composerShares: defaults } = loadControlPlaneOptions(
    readCommandLine(['control-plane'], commands) as CommandWords,
    {},
  );
  return { ...defaults, ...bounds };
}
