// The place of the records of sessions, as the options name it. Like the stores, each is loaded when it is asked for.
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import type { DataplaneOptions } from '../config/dataplane-options.js';
import type { Logger } from '../shared/logger.js';
import { findObviousDamage } from './check-embedded.js';
import type { SealedSessions } from './sealed-sessions.js';

const FOLDER = 'sessions';

/**
 * @param runDirectory private to this gateway, and gone with it.
 * @param slot whose sessions these are, where they go with the gateway.
 * @returns `undefined` when sessions are written down nowhere: as the options say, or because the place cannot be used, which
 *   is logged and costs the gateway nothing else.
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
      // Whoever reads a file that was cut short is killed, and so would be each worker in its place.
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
