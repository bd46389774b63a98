// What a command for user configs has to do, read from the command line and the environment.
import { deepFreeze } from './values.js';
import { configChangeOptionTable, configCheckOptionTable, configStoreOptionTable } from './cli-option-table.js';
import type { CommandWords } from './command.js';
import type { StoreOptions } from './dataplane-options.js';
import { OptionReader } from './option-reader.js';
import { arrangeStore, checkStoreOptions } from './plane-options.js';

export type UserConfigCommandName = UserConfigAction['command'];

interface Change {
  readonly subject: string;
  readonly store: StoreOptions;
  /** SHA-256 that the present config must have, or `none` if there must be none; `undefined`: no condition. */
  readonly expectedDigest: string | undefined;
}

export type UserConfigAction =
  | { readonly command: 'config list'; readonly store: StoreOptions }
  | { readonly command: 'config get'; readonly subject: string; readonly store: StoreOptions }
  | ({ readonly command: 'config delete' } & Change)
  /** `file`: `-` for standard input. */
  | ({ readonly command: 'config put'; readonly file: string } & Change)
  | { readonly command: 'config check'; readonly file: string }
  | { readonly command: 'config schema' };

export interface UserConfigRequest {
  readonly isJson: boolean;
  readonly action: UserConfigAction;
}

/** @throws {OptionFaults} with every fault. */
export function loadUserConfigRequest(
  words: CommandWords<UserConfigCommandName>,
  environment: NodeJS.ProcessEnv = process.env,
): UserConfigRequest {
  return deepFreeze(read(words, environment));
}

function read(words: CommandWords<UserConfigCommandName>, environment: NodeJS.ProcessEnv): UserConfigRequest {
  const { command, operands } = words;
  const [first = '', second = STANDARD_INPUT] = operands;
  switch (command) {
    case 'config schema':
      new OptionReader({}, words, environment).finish();
      return { isJson: true, action: { command } };
    case 'config check': {
      const { json } = new OptionReader(configCheckOptionTable, words, environment).finish();
      return { isJson: json, action: { command, file: operands[0] ?? STANDARD_INPUT } };
    }
    case 'config list':
    case 'config get': {
      const reader = new OptionReader(configStoreOptionTable, words, environment);
      checkStoreOptions(reader);
      const values = reader.finish();
      const store = arrangeStore(values);
      return {
        isJson: values.json,
        action: command === 'config list' ? { command, store } : { command, subject: first, store },
      };
    }
    case 'config put':
    case 'config delete': {
      const reader = new OptionReader(configChangeOptionTable, words, environment);
      checkStoreOptions(reader);
      const values = reader.finish();
      const change = { subject: first, store: arrangeStore(values), expectedDigest: values['expected-digest'] };
      const action = command === 'config put' ? { command, file: second, ...change } : { command, ...change };
      return { isJson: values.json, action };
    }
  }
}

const STANDARD_INPUT = '-';
