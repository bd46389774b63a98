// Limits: what backends want to see before they answer.
import { KIB } from './units.js';

export const credentialLimits = {
  /** headers that one backend's `auth` may set → the config, or the server, is refused */
  authHeadersMax: 8,
  /** the name of a secret → the config, or the server, is refused */
  secretNameCharsMax: 128,
  /** a secret, and the list of its hosts → the backend is unavailable: fault `secret-unreadable` */
  secretBytesMax: 8 * KIB,
  /** files of secrets, and secrets of the store, that a process knows → the others are read again when they are needed */
  secretsKnownMax: 1_024,
  /** a secret is taken for the same before its file is looked at again → it is looked at again */
  secretCheckMs: 1_000,
  /** keys of `--secrets-key-file` → the option is a fault */
  secretKeysMax: 16,
  /** origins that one secret of the store may be sent to → the command is refused */
  secretOriginsMax: 64,
} as const;
