// A name server on this machine, scripted name by name (RFC 1035): addresses, no such name, failures, silence, nonsense.
//
//   const nameServer = await startNameServer({ 'backend.test': { addresses: ['127.0.0.1'], ttl: 60 } });
//   t.teardown(() => nameServer.close());
//   ... new Names({ nameServers: [nameServer.address] }) ... nameServer.queries ...
import { createSocket, type RemoteInfo, type Socket } from 'node:dgram';
import { once } from 'node:events';
import { createServer, isIPv6, type Server } from 'node:net';

export type NameRecord =
  | {
      readonly addresses: readonly string[];
      /** Seconds. */
      readonly ttl?: number;
      /** The UDP response is marked as truncated; only TCP gives it whole. */
      readonly isTruncated?: boolean;
      /** Delay of each UDP response. */
      readonly afterMs?: number;
      /** Queries for this kind of address get no response. */
      readonly silentAbout?: 'A' | 'AAAA';
    }
  | 'silent'
  | 'server-failure'
  | 'garbage';

export interface NameQuery {
  readonly name: string;
  readonly type: 'A' | 'AAAA';
}

/** One received query. */
interface Question extends NameQuery {
  readonly id: number;
  readonly bytes: Buffer;
}

const TYPES = new Map<number, NameQuery['type']>([
  [1, 'A'],
  [28, 'AAAA'],
]);
const HEAD_BYTES = 12;
const [NO_ERROR, SERVER_FAILURE, NAME_ERROR] = [0, 2, 3];

export async function startNameServer(records: Record<string, NameRecord> = {}): Promise<NameServer> {
  for (;;) {
    const server = new NameServer(records);
    if (await server.tryStart()) return server;
    server.close();
  }
}

export class NameServer {
  /** By lower-case name; may be changed at any time. A name that is not in it does not exist. */
  readonly records: Record<string, NameRecord>;
  /** Every question so far. */
  readonly queries: NameQuery[] = [];
  /** While true, it receives queries and answers none. */
  isSilent = false;
  /** Which responses are held back until `release`. */
  isHeld: (query: NameQuery) => boolean = () => false;
  readonly #held: { readonly query: NameQuery; readonly send: () => void }[] = [];
  /** Timers of responses that are not sent yet. */
  readonly #late = new Set<NodeJS.Timeout>();
  readonly #socket: Socket = createSocket('udp4');
  readonly #server: Server;

  constructor(records: Record<string, NameRecord>) {
    this.records = records;
    this.#socket.on('message', (message, from) => this.#onMessage(message, from));
    this.#server = createServer((connection) => {
      connection.on('error', () => undefined);
      connection.on('data', (data: Buffer) => {
        const answer = this.#answer(this.#take(data.subarray(2)), true);
        if (answer === undefined) return;
        const length = Buffer.alloc(2);
        length.writeUInt16BE(answer.length);
        connection.end(Buffer.concat([length, answer]));
      });
    });
  }

  /** For example `127.0.0.1:40000`. */
  get address(): string {
    return `127.0.0.1:${this.#socket.address().port}`;
  }

  /** @returns false when the port that was free for UDP is taken for TCP */
  async tryStart(): Promise<boolean> {
    this.#socket.bind(0, '127.0.0.1');
    await once(this.#socket, 'listening');
    return new Promise((resolve) => {
      this.#server.once('error', () => resolve(false));
      this.#server.listen(this.#socket.address().port, '127.0.0.1', () => resolve(true));
    });
  }

  /** How often a name was queried, both kinds of address together. */
  countOf(name: string): number {
    return this.queries.filter((query) => query.name === name).length;
  }

  /** Sends responses that were held back. @param index in the order in which they would have been sent. */
  release(isWanted: (query: NameQuery, index: number) => boolean): void {
    const held = this.#held.splice(0);
    held.forEach((answer, index) => {
      if (isWanted(answer.query, index)) answer.send();
      else this.#held.push(answer);
    });
  }

  close(): void {
    for (const late of this.#late) clearTimeout(late);
    this.#socket.close();
    this.#server.close();
  }

  #onMessage(message: Buffer, from: RemoteInfo): void {
    const query = this.#take(message);
    const answer = this.#answer(query, false);
    if (answer === undefined || query === undefined) return;
    const send = (): void => this.#socket.send(answer, from.port, from.address);
    const record = this.records[query.name];
    if (this.isHeld(query)) this.#held.push({ query, send });
    else if (typeof record === 'object' && record.afterMs !== undefined) this.#sendAfter(record.afterMs, send);
    else send();
  }

  #sendAfter(afterMs: number, send: () => void): void {
    const late = setTimeout(() => {
      this.#late.delete(late);
      send();
    }, afterMs);
    this.#late.add(late);
  }

  /** Parses and records a query; `undefined` when it is not about addresses. */
  #take(message: Buffer): Question | undefined {
    const labels: string[] = [];
    let at = HEAD_BYTES;
    for (let length = message[at]; length !== undefined && length > 0; length = message[at]) {
      labels.push(message.toString('latin1', at + 1, at + 1 + length));
      at += 1 + length;
    }
    const type = TYPES.get(message.readUInt16BE(at + 1));
    if (type === undefined) return undefined;
    const name = labels.join('.').toLowerCase();
    this.queries.push({ name, type });
    return { name, type, id: message.readUInt16BE(0), bytes: message.subarray(HEAD_BYTES, at + 5) };
  }

  #answer(asked: Question | undefined, isTcp: boolean): Buffer | undefined {
    if (asked === undefined) return undefined;
    const { name, type, id, bytes } = asked;
    const record = this.records[name];
    const isSilent = typeof record === 'object' && record.silentAbout === type;
    if (this.isSilent || isSilent || record === 'silent') return undefined;
    if (record === 'garbage') return Buffer.from('this is no answer');
    return answerOf(id, bytes, type, record, isTcp);
  }
}

function answerOf(
  id: number,
  question: Buffer,
  type: NameQuery['type'],
  record: Exclude<NameRecord, 'silent' | 'garbage'> | undefined,
  isTcp: boolean,
): Buffer {
  const head = Buffer.alloc(HEAD_BYTES);
  const isListed = typeof record === 'object';
  const code = isListed ? NO_ERROR : record === 'server-failure' ? SERVER_FAILURE : NAME_ERROR;
  const isCut = isListed && record.isTruncated === true && !isTcp;
  const wanted = isListed && !isCut ? record.addresses.filter((each) => isIPv6(each) === (type === 'AAAA')) : [];
  const ttl = isListed ? (record.ttl ?? 60) : 0;
  head.writeUInt16BE(id, 0);
  // Flags: a response, recursion desired and available, possibly truncated.
  head.writeUInt16BE(0x8180 | (isCut ? 0x0200 : 0) | code, 2);
  head.writeUInt16BE(1, 4);
  head.writeUInt16BE(wanted.length, 6);
  return Buffer.concat([head, question, ...wanted.map((address) => resourceOf(address, type, ttl))]);
}

function resourceOf(address: string, type: NameQuery['type'], ttl: number): Buffer {
  const bytes = type === 'A' ? Buffer.from(address.split('.').map(Number)) : bytesOfIPv6(address);
  const head = Buffer.alloc(12);
  // A pointer to the name in the question.
  head.writeUInt16BE(0xc000 | HEAD_BYTES, 0);
  head.writeUInt16BE(type === 'A' ? 1 : 28, 2);
  head.writeUInt16BE(1, 4);
  head.writeUInt32BE(ttl, 6);
  head.writeUInt16BE(bytes.length, 10);
  return Buffer.concat([head, bytes]);
}

function bytesOfIPv6(address: string): Buffer {
  const [before = '', after] = address.split('::');
  const groups = (text: string): number[] => (text === '' ? [] : text.split(':').map((group) => parseInt(group, 16)));
  const [head, tail] = [groups(before), groups(after ?? '')];
  const all = [...head, ...Array.from({ length: 8 - head.length - tail.length }, () => 0), ...tail];
  return Buffer.from(all.flatMap((group) => [group >> 8, group & 0xff]));
}
