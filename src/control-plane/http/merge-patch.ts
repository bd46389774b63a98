// Parses request bodies, and applies JSON merge patches (RFC 7396). Cold path.
import { isUtf8 } from 'node:buffer';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { ControlPlaneFault } from '../common/control-plane-fault.js';
import { isObject, limits } from '../../shared/index.js';
import { scanQueue } from '../../bytes/index.js';
import { describeViolation } from './answered-error.js';
import type { JsonSchema } from '../common/schema-parts.js';
import { schemas } from './schemas.js';

/** Depth to which objects in a merge patch may be nested. */
const PATCH_DEPTH_MAX = 64;

type ParserCallback = (error: Error | null, body?: unknown) => void;

/** Makes JSON the only content type that is accepted. A request without a body needs no content type. */
export function acceptJsonBodies(app: FastifyInstance, mediaType = 'application/json'): void {
  const parse = app.getDefaultJsonParser('error', 'error');
  const parseNow = (request: FastifyRequest, body: Buffer, done: ParserCallback): void => {
    if (isUtf8(body)) void parse(request, body.toString(), done);
    else done(new ControlPlaneFault('invalid', 'The body is not UTF-8', { status: 400 }));
  };
  app.removeAllContentTypeParsers();
  app.addContentTypeParser(mediaType, { parseAs: 'buffer' }, (request, body: Buffer, done) => {
    if (body.length === 0) done(null, undefined);
    else if (body.length <= limits.readAtOnceBytesMax) parseNow(request, body, done);
    else parseLarge(request.subject, body, done, () => parseNow(request, body, done));
  });
}

/** Parses a large body. Its values are counted first, in slices: parsing too many of them would block the event loop. */
function parseLarge(subject: string, body: Buffer, done: ParserCallback, parse: () => void): void {
  const valuesMax = limits.controlPlaneBodyValuesMax;
  scanQueue.scan(subject, body, limits.jsonDepthMax, (tape) => {
    if (tape !== undefined && tape.count <= valuesMax) setImmediate(parse);
    else if (tape !== undefined)
      done(new ControlPlaneFault('body-too-large', `The body has more than ${valuesMax} values: send fewer`));
    else {
      const words = `The body is not JSON in UTF-8, or has far more than ${valuesMax} values`;
      done(new ControlPlaneFault('invalid', words, { status: 400 }));
    }
  });
}

export const MERGE_PATCH = 'application/merge-patch+json';

/** Makes merge patches the only bodies that these routes accept. */
export function acceptPatchBodies(app: FastifyInstance): void {
  acceptJsonBodies(app, MERGE_PATCH);
  app.addContentTypeParser('*', (_request, _body, done) => done(NOT_A_PATCH));
}

/** The target with the patch applied, which removes the members that it sets to `null`. */
function mergePatch(target: unknown, patch: unknown, depth = 0): unknown {
  if (depth > PATCH_DEPTH_MAX) throw new ControlPlaneFault('invalid', 'the body is nested too deeply');
  if (!isObject(patch)) return patch;
  const members = new Map(Object.entries(isObject(target) ? target : {}));
  for (const [name, value] of Object.entries(patch)) {
    if (value === null) members.delete(name);
    else members.set(name, mergePatch(members.get(name), value, depth + 1));
  }
  return Object.fromEntries(members);
}

/** The patched entity as the input that replaces it, validated like the body of a replacement. */
export function applyPatch(request: FastifyRequest, entity: object, schema: 'ServerInput' | 'CompositionInput') {
  const properties: Readonly<Record<string, JsonSchema>> = schemas[schema].properties;
  // Members that another version of this program has stored stay in the record, and are not validated.
  const current = Object.entries(entity).filter(
    ([name]) => properties[name]?.['readOnly'] === undefined && name in properties,
  );
  const whole = mergePatch(Object.fromEntries(current), request.body);
  const validate = request.compileValidationSchema(schemas[schema], 'body');
  const [violation] = validate(whole) ? [] : (validate.errors ?? []);
  if (violation !== undefined) throw new ControlPlaneFault('invalid', describeViolation(violation, 'body'));
  return whole as object;
}

const NOT_A_PATCH = new ControlPlaneFault('invalid', `Unsupported content type: send ${MERGE_PATCH}`, {
  status: 415,
  headers: { 'accept-patch': MERGE_PATCH },
});
