// What a command about secrets prints, on whichever stream, and its exit status.
import { CliFault } from '../../src/cli/command-result.js';
import { list, remove, rotate, set, type SecretInput } from '../../src/cli/secrets.js';
import type { StoreOptions } from '../../src/config/table/store-options.js';
import type { SecretOrigins } from '../../src/credentials/secrets/sealed-secret.js';

export type SecretsAction =
  | { readonly command: 'secrets set'; readonly name: string; readonly origins: SecretOrigins }
  | { readonly command: 'secrets delete'; readonly name: string }
  | { readonly command: 'secrets list' | 'secrets rotate' };

export interface StoreRequest {
  readonly store: StoreOptions;
  readonly keys: readonly string[];
  readonly action: SecretsAction;
}

export async function outputOf({ store, keys, action }: StoreRequest, input: SecretInput) {
  let told = '';
  const tell = async (lines: string): Promise<void> => void (told += lines);
  const inStore = { store, keys };
  const perform = async () => {
    switch (action.command) {
      case 'secrets set':
        return set({ ...inStore, ...action }, input);
      case 'secrets delete':
        return remove({ ...inStore, ...action });
      case 'secrets list':
        return list(inStore);
      case 'secrets rotate':
        return rotate(inStore, tell);
    }
  };
  try {
    const { text, exitStatus = 0 } = await perform();
    return { text: told + String(text), exitStatus };
  } catch (error) {
    if (!(error instanceof CliFault)) throw error;
    return { text: `switchyard: ${error.message}\n`, exitStatus: error.exitStatus };
  }
}
