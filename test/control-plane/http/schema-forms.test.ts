import t from 'tap';
import { withoutBounds } from '../../../src/control-plane/common/schema-parts.js';

t.test('a shape has no bounds, but keeps everything else', async (t) => {
  const schema = {
    type: 'object',
    properties: {
      pattern: { type: 'string', pattern: '^a$', minLength: 1 },
      list: { type: 'array', maxItems: 3, items: { type: 'string', maxLength: 2, enum: ['a'] } },
    },
    required: ['pattern'],
  };
  t.same(withoutBounds(schema), {
    type: 'object',
    properties: {
      pattern: { type: 'string' },
      list: { type: 'array', items: { type: 'string', enum: ['a'] } },
    },
    required: ['pattern'],
  });
});
