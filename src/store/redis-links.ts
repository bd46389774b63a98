// Creates the kind of link that fits the options: to a single Redis, or to a cluster.
import { RedisClusterLink } from './redis-cluster-link.js';
import type { RedisStoreOptions } from './redis-connection.js';
import { RedisLink, type RedisLinkEvents, type RedisLinkHearing, type StoreLink } from './redis-link.js';

export function createLink(options: RedisStoreOptions, events: RedisLinkEvents, hearing?: RedisLinkHearing): StoreLink {
  const Link = 'nodes' in options.place ? RedisClusterLink : RedisLink;
  return new Link(options, events, hearing);
}
