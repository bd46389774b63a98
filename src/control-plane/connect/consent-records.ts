// Consents in progress, sealed in the store: one record per user and backend, with the links that were used and the latest
// consent. Any control plane can complete a consent that another one began. Cold path.
import {
  type SecretKeys,
  type ConnectTicket,
  GRANT_PREFIX,
  type GrantClient,
  openText,
  sealText,
} from '../../credentials/index.js';
import { limits } from '../../shared/index.js';
import { type RecordStore, retrySwap, type RecordKey } from '../../store/index.js';
import { ControlPlaneFault } from '../common/control-plane-fault.js';
import type { DiscoveredAuthorization } from './discovery.js';

/** How many old records each new consent examines, to remove expired ones. The next consent continues after these records. */
export const CONNECTS_SWEPT_MAX = 32;

/** A consent in progress: its ticket, the discovered authorization server, and the values that are needed to complete it. */
export interface PendingConsent extends ConnectTicket, DiscoveredAuthorization {
  /** Part of `state`, which the authorization server sends back. */
  readonly nonce: string;
  /** Hash of a secret of the browser that began the consent. */
  readonly browser: string;
  readonly grantKey: string;
  readonly client: GrantClient;
  readonly verifier: string;
  /** When the consent expires, in ms of the wall clock. */
  readonly untilMs: number;
}

interface ConsentRecord {
  readonly usedTickets: readonly { readonly id: string; readonly untilMs: number }[];
  readonly begun?: PendingConsent | undefined;
}

const CONNECTS_PREFIX = 'connects/';

export class ConsentRecords {
  readonly #sealed: SealedRecords<ConsentRecord>;
  #sweptTo = '';

  constructor(records: RecordStore, keys: SecretKeys) {
    this.#sealed = new SealedRecords(records, keys);
  }

  /** Stores the consent in place of an earlier one. Rejects with a `ControlPlaneFault` if its ticket, or too many tickets, were used. */
  async start(begun: PendingConsent, nowMs: number): Promise<void> {
    const key = keyOf(begun.grantKey);
    await retrySwap(async () => {
      const { bytes, value } = await this.#sealed.read(key);
      const used = (value?.usedTickets ?? []).filter(({ untilMs }) => nowMs < untilMs);
      if (used.some(({ id }) => id === begun.id))
        throw new ControlPlaneFault('consent-over', 'This link has already been used.');
      if (used.length >= limits.connectStartsMax)
        throw new ControlPlaneFault(
          'consents-full',
          'Too many links for this backend were used recently: try again in a few minutes.',
        );
      const usedTickets = [...used, { id: begun.id, untilMs: begun.untilMs }];
      return (await this.#sealed.replace(key, bytes, { usedTickets, begun })) || undefined;
    });
    await this.#sweep(nowMs);
  }

  /** Removes and returns the consent. @returns `undefined` if no valid consent has this nonce. */
  async take(grantKey: string, nonce: string, nowMs: number): Promise<PendingConsent | undefined> {
    const key = keyOf(grantKey);
    const { begun } = await retrySwap(async () => {
      const { bytes, value } = await this.#sealed.read(key);
      if (value?.begun?.nonce !== nonce) return { begun: undefined };
      const { usedTickets, begun: found } = value;
      return (await this.#sealed.replace(key, bytes, { usedTickets })) ? { begun: found } : undefined;
    });
    return begun !== undefined && nowMs < begun.untilMs ? begun : undefined;
  }

  async #sweep(nowMs: number): Promise<void> {
    const { records } = this.#sealed;
    const keys = await records.listKeys(CONNECTS_PREFIX, this.#sweptTo, CONNECTS_SWEPT_MAX);
    this.#sweptTo = keys.length < CONNECTS_SWEPT_MAX ? '' : (keys.at(-1) ?? '');
    const values = await records.readMany(keys);
    for (const [index, key] of keys.entries()) {
      const bytes = values[index];
      // A record that cannot be opened with any key is removed, too: its consent cannot be completed.
      const isOld = this.#sealed.open(key, bytes)?.usedTickets.every(({ untilMs }) => untilMs <= nowMs) !== false;
      if (bytes !== undefined && isOld) await this.#sealed.replace(key, bytes, undefined);
    }
  }
}

function keyOf(grantKey: string): string {
  return CONNECTS_PREFIX + grantKey.slice(GRANT_PREFIX.length);
}

/** Records whose values are sealed as JSON, each bound to its own key. */
export class SealedRecords<Value> {
  readonly records: RecordStore;
  readonly #keys: SecretKeys;

  constructor(records: RecordStore, keys: SecretKeys) {
    this.records = records;
    this.#keys = keys;
  }

  /** Reads a record. @returns its bytes and its value, each `undefined` if there is no record; no `value` if no key opens it. */
  async read(key: string) {
    const bytes = await this.records.read(recordKey(key));
    return { bytes, value: this.open(key, bytes) };
  }

  /** Replaces the value. @param value `undefined` to remove the record. @returns false if the record has changed: then nothing is done. */
  async replace(key: string, expected: Buffer | undefined, value: Value | undefined): Promise<boolean> {
    const sealed = value && sealText(this.#keys.requiredSealingKey, key, JSON.stringify(value));
    return this.records.swap([{ ...recordKey(key), expected, value: sealed }]);
  }

  /** The opened value. It is not validated, because only the gateway can have sealed it. */
  open(key: string, bytes: Buffer | undefined): Value | undefined {
    const opened = bytes && openText(this.#keys, key, bytes);
    return opened?.kind === 'opened' ? (JSON.parse(opened.text) as Value) : undefined;
  }
}

function recordKey(key: string): RecordKey {
  return { space: 'records', key };
}
