// Request bodies as JSON. A small body is parsed at once. A large one is scanned first, a few milliseconds per turn of
// the event loop, and refused when it has so many values that parsing them would block the event loop. Cold path.
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { readings } from '../../protocol/reading-queue.js';
import { limits } from '../../shared/limits.js';
import { HttpRefusal } from './answered-error.js';

type Done = (error: Error | null, body?: unknown) => void;

/** JSON only. A missing body is accepted where none is required, whatever its content type. */
export function readJsonBodies(app: FastifyInstance, mediaType = 'application/json'): void {
  const parse = app.getDefaultJsonParser('error', 'error');
  const decoder = new TextDecoder('utf-8', { fatal: true });
  const parseNow = (request: FastifyRequest, body: Buffer, done: Done): void => {
    let text: string;
    try {
      text = decoder.decode(body);
    } catch {
      done(new HttpRefusal(400, 'The body is not UTF-8'));
      return;
    }
    void parse(request, text, done);
  };
  app.removeAllContentTypeParsers();
  app.addContentTypeParser(mediaType, { parseAs: 'buffer' }, (request, body: Buffer, done) => {
    if (body.length === 0) done(null, undefined);
    else if (body.length <= limits.readAtOnceBytesMax) parseNow(request, body, done);
    else parseLarge(request.subject, body, done, () => parseNow(request, body, done));
  });
}

function parseLarge(subject: string, body: Buffer, done: Done, parse: () => void): void {
  const valuesMax = limits.controlPlaneBodyValuesMax;
  readings.read(subject, body, limits.jsonDepthMax, (tape) => {
    // Parsing gets a turn of its own.
    if (tape !== undefined && tape.count <= valuesMax) setImmediate(parse);
    else if (tape !== undefined) done(new HttpRefusal(413, `The body has more than ${valuesMax} values: send fewer`));
    else done(new HttpRefusal(400, `The body is not JSON in UTF-8, or has far more than ${valuesMax} values`));
  });
}
