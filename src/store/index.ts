export { type AuditEntry, AuditRecords } from './audit-records.js';
export { StoreDamage } from './check-embedded.js';
export { copyEmbedded } from './embedded-databases.js';
export { noStoreInWords, openForCommand, openRecordStore, openSealedSessions, openStore } from './open-store.js';
export {
  RECORDS_AT_ONCE_MAX,
  RECORDS_PER_READ_MAX,
  type RecordChange,
  type RecordKey,
  type RecordStore,
  RecordStoreFault,
  retrySwap,
  walkRecords,
} from './record-store.js';
export type { KnownVersion, SealedRead, SealedSession, SealedSessions } from './sealed-sessions.js';
export {
  type KeptTimes,
  type Store,
  StoreCounts,
  type StoreObstacleListener,
  type StoreRead,
  encodeStoreKey,
} from './store.js';
