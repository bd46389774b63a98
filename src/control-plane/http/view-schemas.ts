// The schemas of the views of what happens in the gateway.
import { z } from 'zod';
import { explanationShape, requestShape, sessionsShape } from '../../shared/index.js';
import {
  anyObject,
  countSchema,
  exactObject,
  type JsonSchema,
  textSchema,
  timeSchema,
} from '../common/schema-parts.js';

/** The schema of what a shape reads, in the form of those that are written here. */
function schemaOf(shape: z.ZodType): JsonSchema {
  const { $schema: _, ...schema } = z.toJSONSchema(shape, {
    override: ({ jsonSchema }) => {
      delete jsonSchema.propertyNames;
      delete jsonSchema.default;
      if (jsonSchema.const !== undefined) delete jsonSchema.type;
      // Several types are listed: of the choices, only the members of an object are left to tell.
      if (!Array.isArray(jsonSchema.type)) return;
      const { properties, required } = (jsonSchema.anyOf?.[0] ?? {}) as JsonSchema;
      if (properties !== undefined) Object.assign(jsonSchema, { properties, required });
      delete jsonSchema.anyOf;
    },
  });
  return schema;
}

export const viewSchemas = {
  Explanation: schemaOf(explanationShape.extend({ subject: z.string(), virtualHost: z.string(), tool: z.string() })),
  DataplaneSessions: schemaOf(sessionsShape.omit({ next: true })),
  ToldRequest: schemaOf(
    requestShape.extend({
      plane: z.enum(['control-plane', 'dataplane']),
      slot: requestShape.shape.slot
        .meta({ description: 'The slot of the worker that answered, if the dataplane did.' })
        .optional(),
    }),
  ),
  AuditEntry: exactObject(
    {
      at: timeSchema,
      operation: {
        ...textSchema,
        description: 'The `operationId` of the request, or the name of the operation if a command made the change.',
      },
      kind: { type: 'string', enum: ['servers', 'compositions', 'connections', 'user-configs', 'secrets'] },
      subject: { ...textSchema, description: 'Who has made the change.' },
      requestId: textSchema,
      id: { ...textSchema, description: 'Of what was changed.' },
      name: textSchema,
      owner: { ...textSchema, description: 'The owner at the time of the change.' },
      team: textSchema,
      before: {
        ...anyObject,
        description: 'The changed properties before the change; absent if something was created.',
      },
      after: { ...anyObject, description: 'The changed properties after the change; absent if something was removed.' },
      outcome: {
        type: 'string',
        enum: ['unknown'],
        description: 'Present if the store did not confirm whether the change was made.',
      },
      unpublished: {
        ...countSchema,
        description: 'Number of user configs that did not have the change yet when the request was answered.',
      },
      fault: {
        ...textSchema,
        description: 'Why the request failed although the change was made, or may have been made.',
      },
    },
    ['requestId', 'id', 'name', 'owner', 'team', 'before', 'after', 'outcome', 'unpublished', 'fault'],
  ),
} as const;
