import t from 'tap';
import { candidatesOf, parseResolverSettings } from '../../../src/http-client/names/names.js';

t.test('reads what resolv.conf(5) describes', async (t) => {
  t.same(parseResolverSettings(''), { nameServers: ['127.0.0.1'], searchDomains: [], dotsMin: 1 });
  const text = [
    '# comment',
    'nameserver 192.0.2.1 ; comment',
    'nameserver\t2001:db8::1',
    'nameserver nonsense',
    'domain old.example',
    'search Svc.Cluster.Local cluster.local. ; not.this',
    'options edns0 ndots:5 timeout:2',
    'sortlist 192.0.2.0',
  ].join('\n');
  t.same(parseResolverSettings(text), {
    nameServers: ['192.0.2.1', '2001:db8::1'],
    searchDomains: ['svc.cluster.local', 'cluster.local'],
    dotsMin: 5,
  });
  t.same(parseResolverSettings('search a b\ndomain c').searchDomains, ['c'], 'the last line counts');
  t.equal(parseResolverSettings('options ndots:99').dotsMin, 15);
  const many = Array.from({ length: 9 }, (_, index) => `nameserver 192.0.2.${index}`).join('\n');
  t.equal(parseResolverSettings(many).nameServers.length, 3);
  t.equal(parseResolverSettings('search a b c d e f g h i').searchDomains.length, 6);
});

t.test('search domains are tried before or after the name itself, depending on its dots', async (t) => {
  const settings = { nameServers: [], searchDomains: ['one', 'two'], dotsMin: 1 };
  t.same(candidatesOf('a', settings), ['a.one', 'a.two', 'a']);
  t.same(candidatesOf('a.b', settings), ['a.b', 'a.b.one', 'a.b.two']);
  t.same(candidatesOf('a.', settings), ['a']);
  t.same(candidatesOf('a', { ...settings, dotsMin: 0 }), ['a', 'a.one', 'a.two']);
});
