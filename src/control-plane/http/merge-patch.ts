// A change that says only what is to be another (RFC 7396): put together with what is there, judged as a whole is judged, and made only
// if nobody has changed the thing meanwhile. Who names no tag is let go on with what somebody else has made of it. Cold.
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import { ChangeCondition } from '../common/change-condition.js';
import { isObject } from '../../shared/json-values.js';
import { limits } from '../../shared/limits.js';
import { Refused } from './answered-error.js';
import { readJsonBodies } from './json-body.js';
import { shapeOf } from './schema-forms.js';
import { schemas, type SchemaName } from './schemas.js';
import { describeViolation } from './violation.js';

export const MERGE_PATCH = 'application/merge-patch+json';

/** Routes whose bodies are merge patches, and nothing else. */
export async function mountPatches(app: FastifyInstance, mountAll: (scope: FastifyInstance) => void): Promise<void> {
  await app.register(async (scope) => {
    readJsonBodies(scope, MERGE_PATCH);
    scope.addContentTypeParser('*', (_request, _body, done) => done(UNREADABLE));
    mountAll(scope);
  });
}

/** Values that are taken away are not there. */
export function merged(target: unknown, patch: unknown, depth = 0): unknown {
  if (depth > limits.patchDepthMax) throw new Refused(422, 'the body is nested too deeply');
  if (!isObject(patch)) return patch;
  const members = new Map(Object.entries(isObject(target) ? target : {}));
  for (const [name, value] of Object.entries(patch)) {
    if (value === null) members.delete(name);
    else members.set(name, merged(members.get(name), value, depth + 1));
  }
  return Object.fromEntries(members);
}

export interface Patching<Thing> {
  /** What people have said of it. */
  readonly said: (thing: Thing) => object;
  readonly tag: (thing: Thing) => string;
  /** Takes the whole, and a condition that the thing is as it was read. */
  readonly change: (thing: Thing, whole: unknown, condition: ChangeCondition) => Promise<Thing>;
  /** Whether a fault says that it is not. */
  readonly isChanged: (error: unknown) => boolean;
}

/** @param read throws where there is none of it, or it is not as the caller's own condition wants it. */
export async function patchThing<Thing>(
  request: FastifyRequest,
  schema: SchemaName,
  read: () => Promise<Thing>,
  { said, tag, change, isChanged }: Patching<Thing>,
): Promise<Thing> {
  const mayGoOn = request.headers['if-match'] === undefined;
  for (let tries = 1; ; tries++) {
    const thing = await read();
    const whole = merged(said(thing), request.body);
    refuseMisshaped(schema, whole);
    try {
      return await change(thing, whole, ChangeCondition.of(tag(thing)));
    } catch (error) {
      if (!mayGoOn || tries >= limits.patchTriesMax || !isChanged(error)) throw error;
    }
  }
}

const UNREADABLE = new Refused(415, `Unsupported content type: send ${MERGE_PATCH}`, { 'accept-patch': MERGE_PATCH });

const ajv = new Ajv2020({ allowUnionTypes: true });
const validators = new Map<SchemaName, ValidateFunction>();

/** As a body that says all of it is judged. */
function refuseMisshaped(name: SchemaName, whole: unknown): void {
  const validate = validators.get(name) ?? ajv.compile(shapeOf(schemas[name]));
  validators.set(name, validate);
  if (validate(whole)) return;
  const [violation] = validate.errors ?? [];
  throw new Refused(422, violation === undefined ? 'the body is not valid' : describeViolation(violation, 'body'));
}
