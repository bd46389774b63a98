// What a command for secrets in the store has to do, read from the command line and the environment.
import { isSecretName, SECRET_NAME_RULE } from '../shared/secret-name.js';
import type { CommandWords } from './command.js';
import type { StoreOptions } from './dataplane-options.js';
import { deepFreeze } from './values.js';
import { OptionReader } from './option-reader.js';
import { secretsOptionTable, secretsSealOptionTable, secretsSetOptionTable } from './option-table.js';
import type { OptionValues } from './option.js';
import { arrangeStore, checkStoreOptions, type StoreReader } from './plane-options.js';

export type SecretsCommandName = SecretsAction['command'];

export type SecretsAction =
  | { readonly command: 'secrets set'; readonly name: string; readonly origins: readonly string[] | 'any' }
  | { readonly command: 'secrets delete'; readonly name: string }
  | { readonly command: 'secrets list' }
  | { readonly command: 'secrets rotate' };

export interface SecretsRequest {
  readonly store: StoreOptions;
  /** In base64; the first one seals. */
  readonly keys: readonly string[];
  readonly action: SecretsAction;
}

/** @throws {OptionFaults} with every fault. */
export function loadSecretsRequest(
  words: CommandWords<SecretsCommandName>,
  environment: NodeJS.ProcessEnv = process.env,
): SecretsRequest {
  const { command, operands } = words;
  const [name] = operands;
  const isNamed = name === undefined || isSecretName(name);
  // The operand may be the secret itself, so it is not repeated.
  const faults = isNamed ? words.faults : [...words.faults, `<name>: must be ${SECRET_NAME_RULE}`];
  const told = { ...words, faults };
  switch (command) {
    case 'secrets set': {
      const values = finish(new OptionReader(secretsSetOptionTable, told, environment));
      return arrange(values, { command, name: name ?? '', origins: values.origins });
    }
    case 'secrets delete':
      return arrange(finish(new OptionReader(secretsOptionTable, told, environment)), { command, name: name ?? '' });
    case 'secrets list':
      return arrange(finish(new OptionReader(secretsOptionTable, told, environment)), { command });
    case 'secrets rotate':
      return arrange(finish(new OptionReader(secretsSealOptionTable, told, environment)), { command });
  }
}

function finish<Values>(reader: StoreReader & { finish(): Values }): Values {
  checkStoreOptions(reader);
  return reader.finish();
}

function arrange(values: OptionValues<typeof secretsOptionTable>, action: SecretsAction): SecretsRequest {
  return deepFreeze({ store: arrangeStore(values), keys: values['secrets-key-file'] ?? [], action });
}
