// Opens the place for records of sessions that the options name. As with the stores, an implementation is loaded only when it is needed.
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import type { DataplaneOptions } from '../config/dataplane-options.js';
import type { Logger } from '../shared/logger.js';
import { findObviousDamage } from './check-embedded.js';
import type { SealedSessions } from './sealed-sessions.js';

const FOLDER = 'sessions';

/**
 * @param runDirectory private to this gateway, and deleted with it.
 * @param slot the slot whose sessions these are; used only where records are deleted with the gateway.
 * @returns `undefined` when sessions are not recorded: because the options say so, or because the place cannot be used, which is logged and
 *   costs the gateway nothing else.
 */
export async function openSealedSessions(
  { sessionDirectory, store }: Pick<DataplaneOptions, 'sessionDirectory' | 'store'>,
  runDirectory: string,
  slot: number,
  logger: Logger,
): Promise<SealedSessions | undefined> {
  if (sessionDirectory === 'none') return undefined;
  if (sessionDirectory === 'process') return tryOpenFiles(join(runDirectory, FOLDER, String(slot)), logger);
  if (store.kind === 'embedded') return tryOpenEmbedded(join(store.path, FOLDER), logger);
  return (await import('./redis-sessions.js')).RedisSessions.open(store, logger);
}

async function tryOpenFiles(path: string, logger: Logger): Promise<SealedSessions | undefined> {
  const { FileSessions } = await import('./file-sessions.js');
  return orNone(path, logger, () => new FileSessions(path));
}

async function tryOpenEmbedded(path: string, logger: Logger): Promise<SealedSessions | undefined> {
  const { EmbeddedSessions } = await import('./embedded-sessions.js');
  return orNone(path, logger, () => {
    const damage = findObviousDamage(path);
    if (damage !== undefined) {
      // Reading a truncated file would kill this worker, and every worker that replaces it.
      logger.error({ path, damage }, 'the stored sessions are damaged: they are removed, and lost');
      rmSync(path, { recursive: true, force: true });
    }
    return new EmbeddedSessions(path);
  });
}

function orNone(path: string, logger: Logger, open: () => SealedSessions): SealedSessions | undefined {
  try {
    return open();
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    logger.error({ path, reason }, 'sessions cannot be stored: they end with their worker');
    return undefined;
  }
}
