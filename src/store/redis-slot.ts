// The slot in which a Redis Cluster keeps a key: the CRC16 of the key, or of the text in its first pair of braces. Two keys can be changed
// together only if they are in one slot.

export const SLOTS = 16_384;
const OPEN = 0x7b;
const CLOSE = 0x7d;

/** @returns 0 to 16,383. */
export function redisSlotOf(key: Buffer): number {
  return crc16(hashedPart(key)) % SLOTS;
}

/** A tag that, in braces at the start of another key, keeps that key in the same slot. */
export function slotTag(key: Buffer): Buffer {
  const part = hashedPart(key);
  if (part.length > 0 && !part.includes(CLOSE)) return part;
  // Braces cannot hold these bytes: use any other text of the same slot, which about one in 16,384 is.
  const slot = crc16(part) % SLOTS;
  for (let number = 0; ; number++) {
    const tag = Buffer.from(String(number));
    if (crc16(tag) % SLOTS === slot) return tag;
  }
}

function hashedPart(key: Buffer): Buffer {
  const open = key.indexOf(OPEN);
  const close = open === -1 ? -1 : key.indexOf(CLOSE, open + 1);
  return close > open + 1 ? key.subarray(open + 1, close) : key;
}

/** XMODEM: polynomial 0x1021, from 0. */
function crc16(bytes: Buffer): number {
  let crc = 0;
  for (const byte of bytes) {
    crc ^= byte << 8;
    for (let bit = 0; bit < 8; bit++) crc = ((crc & 0x8000) === 0 ? crc << 1 : (crc << 1) ^ 0x1021) & 0xffff;
  }
  return crc;
}
