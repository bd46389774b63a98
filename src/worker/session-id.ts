// Session ids that identify their owner: a hash of the id is the owner's slot, so no worker needs a shared table. Hot path: `ownerOf`
// runs once per request.
import assert from 'node:assert';
import { RandomPool } from '../shared/index.js';

const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
const ALPHABET_CODES = Array.from(ALPHABET, (char) => char.charCodeAt(0));

/** 192 random bits in 32 characters: the unguessable part of an id (X03). */
const RANDOM_BYTES = 24;
/** How many suffixes of three characters there are: 2^18. Each leads to the wanted slot with a probability of 1 in `slotCount`. */
const SUFFIX_COUNT = ALPHABET.length ** 3;

const MINTED_ID = new RegExp(`^[\\w-]{${(RANDOM_BYTES / 3) * 4 + 3}}$`);

const randomPool = new RandomPool(RANDOM_BYTES);

/** Whether the text has the form of an id that Switchyard mints. */
export function isMintedSessionId(sessionId: string): boolean {
  return MINTED_ID.test(sessionId);
}

/** The slot that owns the id. Any string has an owner; only the owner knows whether the session exists. */
export function ownerOf(sessionId: string, slotCount: number): number {
  return slotOf(hashOf(sessionId), slotCount);
}

/** Mints an id that `slot` owns: a random part, and the first suffix with which the id's hash leads to the slot. */
export function mintSessionId(slot: number, slotCount: number): string {
  const random = randomPool.next().toString('base64url');
  const randomHash = hashOf(random);
  for (let suffix = 0; suffix < SUFFIX_COUNT; suffix++) {
    const first = suffixCode(suffix >> 12);
    const second = suffixCode(suffix >> 6);
    const third = suffixCode(suffix);
    const hash = hashWithChar(hashWithChar(hashWithChar(randomHash, first), second), third);
    if (slotOf(hash, slotCount) === slot) return random + String.fromCharCode(first, second, third);
  }
  // With 1,024 slots the probability of getting here is e^-256.
  assert.fail('no suffix leads to the slot');
}

function suffixCode(sixBits: number): number {
  return ALPHABET_CODES[sixBits & 63] as number;
}

/** The hash of a text: FNV-1a, 32 bits, over char codes. */
function hashOf(text: string): number {
  let hash = 0x811c9dc5;
  for (let at = 0; at < text.length; at++) hash = hashWithChar(hash, text.charCodeAt(at));
  return hash;
}

function hashWithChar(hash: number, code: number): number {
  return Math.imul(hash ^ code, 0x01000193);
}

/** The slot of a hash. MurmurHash3's finalizer precedes the modulo: the low bits of plain FNV-1a depend too much on the last characters. */
function slotOf(hash: number, slotCount: number): number {
  let mixed = hash ^ (hash >>> 16);
  mixed = Math.imul(mixed, 0x85ebca6b);
  mixed ^= mixed >>> 13;
  mixed = Math.imul(mixed, 0xc2b2ae35);
  mixed ^= mixed >>> 16;
  return (mixed >>> 0) % slotCount;
}
