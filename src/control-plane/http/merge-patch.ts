// Changes by JSON merge patch (RFC 7396): the patch is merged into the current thing, the whole is validated like a full replacement, and
// written only if nobody has changed the thing meanwhile. Without `If-Match`, the patch is then retried on the changed thing. Cold path.
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import { ChangeCondition } from '../common/change-condition.js';
import { isObject } from '../../shared/json-values.js';
import { limits } from '../../shared/limits.js';
import { HttpRefusal } from './answered-error.js';
import { readJsonBodies } from './json-body.js';
import { shapeOf } from './schema-forms.js';
import { schemas, type SchemaName } from './schemas.js';
import { describeViolation } from './violation.js';

export const MERGE_PATCH = 'application/merge-patch+json';

/** Mounts routes whose bodies must be merge patches. */
export async function mountPatches(app: FastifyInstance, mountAll: (scope: FastifyInstance) => void): Promise<void> {
  await app.register(async (scope) => {
    readJsonBodies(scope, MERGE_PATCH);
    scope.addContentTypeParser('*', (_request, _body, done) => done(UNREADABLE));
    mountAll(scope);
  });
}

/** Members that are `null` in the patch are removed. */
export function merged(target: unknown, patch: unknown, depth = 0): unknown {
  if (depth > limits.patchDepthMax) throw new HttpRefusal(422, 'the body is nested too deeply');
  if (!isObject(patch)) return patch;
  const members = new Map(Object.entries(isObject(target) ? target : {}));
  for (const [name, value] of Object.entries(patch)) {
    if (value === null) members.delete(name);
    else members.set(name, merged(members.get(name), value, depth + 1));
  }
  return Object.fromEntries(members);
}

export interface Patching<Thing> {
  /** What people have set on it, in the form of a full replacement. */
  readonly said: (thing: Thing) => object;
  readonly tag: (thing: Thing) => string;
  /** Replaces the whole, on condition that the thing is as it was read. */
  readonly change: (thing: Thing, whole: unknown, condition: ChangeCondition) => Promise<Thing>;
  /** Whether the error says that the thing has changed. */
  readonly isChanged: (error: unknown) => boolean;
}

/** @param read throws if the thing does not exist, or does not meet the caller's own condition. */
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

const UNREADABLE = new HttpRefusal(415, `Unsupported content type: send ${MERGE_PATCH}`, {
  'accept-patch': MERGE_PATCH,
});

const ajv = new Ajv2020({ allowUnionTypes: true });
const validators = new Map<SchemaName, ValidateFunction>();

/** Validates the merged whole like the body of a full replacement. */
function refuseMisshaped(name: SchemaName, whole: unknown): void {
  const validate = validators.get(name) ?? ajv.compile(shapeOf(schemas[name]));
  validators.set(name, validate);
  if (validate(whole)) return;
  const [violation] = validate.errors ?? [];
  throw new HttpRefusal(422, violation === undefined ? 'the body is not valid' : describeViolation(violation, 'body'));
}
