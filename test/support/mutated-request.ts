// Damages a well-formed HTTP request: for tests of how the gateway treats malformed ones.
import type { Random } from './random.js';

const INSERTED = ['\r\n', '\n', '\r', '\0', ' ', ':', '\t', '\xff', 'content-length: 3\r\n'];

/** Makes one to three small changes. */
export function mutatedRequest(request: Buffer, random: Random): Buffer {
  let mutant = Buffer.from(request);
  for (let damages = 1 + random.below(3); damages > 0; damages--) {
    const at = random.below(mutant.length);
    const [before, after] = [mutant.subarray(0, at), mutant.subarray(at)];
    switch (random.below(5)) {
      case 0:
        mutant = Buffer.concat([before, Buffer.of(random.below(256)), after.subarray(1)]);
        break;
      case 1:
        mutant = Buffer.concat([before, after.subarray(1 + random.below(20))]);
        break;
      case 2:
        mutant = Buffer.concat([before, Buffer.from(random.pick(INSERTED), 'latin1'), after]);
        break;
      case 3:
        mutant = Buffer.concat([before, after.subarray(0, random.below(200)), after]);
        break;
      default:
        mutant = Buffer.concat([before, after.subarray(0, 1)]);
    }
  }
  return mutant;
}
