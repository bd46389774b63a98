// What is kept of consents that were begun, sealed in the store, one record for each user and backend: the links that were used, and
// the one consent that is under way. Any control plane may end what another has begun. Old ones are cleared away a few at a time,
// with each new one. Cold.
import type { SecretKeys } from '../../secrets/secret-keys.js';
import { openText, sealText } from '../../secrets/sealed-text.js';
import { GRANT_PREFIX, type GrantClient } from '../../secrets/user-grants.js';
import { limits } from '../../shared/limits.js';
import type { RecordKey, RecordStore } from '../../store/record-store.js';
import { retrySwap } from '../../store/retry-swap.js';
import type { UserAuth } from '../../user-config/auth.js';
import { ControlPlaneFault } from '../common/control-plane-fault.js';
import type { Discovered } from './discovery.js';

export interface BegunConsent extends Discovered {
  /** In the state that comes back. */
  readonly nonce: string;
  /** Of the browser that has begun it: a hash. */
  readonly browser: string;
  readonly grantKey: string;
  readonly subject: string;
  readonly backendName: string;
  readonly origin: string;
  readonly path: string;
  readonly auth: UserAuth;
  readonly client: GrantClient;
  readonly verifier: string;
  readonly untilMs: number;
}

interface ConnectRecord {
  readonly usedTickets: readonly { readonly id: string; readonly untilMs: number }[];
  readonly begun?: BegunConsent | undefined;
}

const PREFIX = 'connects/';

export class ConnectRecords {
  readonly #records: RecordStore;
  readonly #keys: SecretKeys;
  #sweptTo = '';

  constructor(records: RecordStore, keys: SecretKeys) {
    this.#records = records;
    this.#keys = keys;
  }

  /** In the place of any other that is under way. Throws a `ControlPlaneFault` where the ticket was used. @param ticketId that it is begun with. */
  async begin(ticketId: string, begun: BegunConsent, nowMs: number): Promise<void> {
    const key = keyOf(begun.grantKey);
    await retrySwap(async () => {
      const { bytes, record } = await this.#read(key);
      const used = record.usedTickets.filter(({ untilMs }) => nowMs < untilMs);
      if (used.some(({ id }) => id === ticketId))
        throw new ControlPlaneFault('consent-over', 'This link has already been used.');
      if (used.length >= limits.connectStartsMax)
        throw new ControlPlaneFault(
          'consents-full',
          'Too many links for this backend were used recently: try again in a few minutes.',
        );
      const usedTickets = [...used, { id: ticketId, untilMs: begun.untilMs }];
      return (await this.#write(key, bytes, { usedTickets, begun })) || undefined;
    });
    await this.#sweep(nowMs);
  }

  /** Once: whoever comes next finds nothing. @returns `undefined` when there is none of this nonce. */
  async end(grantKey: string, nonce: string, nowMs: number): Promise<BegunConsent | undefined> {
    const key = keyOf(grantKey);
    const { begun } = await retrySwap(async () => {
      const { bytes, record } = await this.#read(key);
      if (record.begun?.nonce !== nonce) return { begun: undefined };
      const { usedTickets } = record;
      return (await this.#write(key, bytes, { usedTickets })) ? { begun: record.begun } : undefined;
    });
    return begun !== undefined && nowMs < begun.untilMs ? begun : undefined;
  }

  async #read(key: RecordKey): Promise<{ readonly bytes: Buffer | undefined; readonly record: ConnectRecord }> {
    const bytes = await this.#records.read(key);
    return { bytes, record: (bytes && this.#open(key, bytes)) ?? { usedTickets: [] } };
  }

  /** `undefined` for what no key opens: nobody can go on with it. */
  #open({ key }: RecordKey, bytes: Buffer): ConnectRecord | undefined {
    const opened = openText(this.#keys, key, bytes);
    return opened.kind === 'opened' ? (JSON.parse(opened.text) as ConnectRecord) : undefined;
  }

  async #write(key: RecordKey, expected: Buffer | undefined, record: ConnectRecord): Promise<boolean> {
    const { first } = this.#keys;
    if (first === undefined) throw new Error('there is no key to seal with');
    const value = sealText(first, key.key, JSON.stringify(record));
    return this.#records.swap([{ ...key, expected, value }]);
  }

  async #sweep(nowMs: number): Promise<void> {
    const keys = await this.#records.listKeys(PREFIX, this.#sweptTo, limits.connectsSweptMax);
    this.#sweptTo = keys.length < limits.connectsSweptMax ? '' : (keys.at(-1) ?? '');
    const values = await this.#records.readMany(keys);
    for (const [index, key] of keys.entries()) {
      const expected = values[index];
      const place: RecordKey = { space: 'records', key };
      const record = expected && this.#open(place, expected);
      const isOld = record?.usedTickets.every(({ untilMs }) => untilMs <= nowMs) !== false;
      if (expected !== undefined && isOld) await this.#records.swap([{ ...place, expected, value: undefined }]);
    }
  }
}

function keyOf(grantKey: string): RecordKey {
  return { space: 'records', key: PREFIX + grantKey.slice(GRANT_PREFIX.length) };
}
