// Numbers with their nouns.
import t from 'tap';
import { counted } from '../../ui/model/counted.js';

t.test('one of a thing is not called several', async (t) => {
  t.equal(counted(0, 'tools'), '0 tools');
  t.equal(counted(1, 'tools'), '1 tool');
  t.equal(counted(2, 'tools'), '2 tools');
  t.equal(counted(1, 'user configs'), '1 user config');
  t.equal(counted(1, 'requests in flight'), '1 request in flight');
  t.equal(counted(1, 'templates of resources'), '1 template of resources');
});
