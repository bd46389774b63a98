// Which kind of link leads to the Redis that the options name.
import { RedisClusterLink } from './redis-cluster-link.js';
import type { RedisStoreOptions } from './redis-connection.js';
import { RedisLink, type RedisLinkEvents, type StoreLink } from './redis-link.js';

/** @param hearsItself whether changes made over this link are told as well. */
export function createLink(options: RedisStoreOptions, events: RedisLinkEvents, hearsItself = true): StoreLink {
  const Link = 'nodes' in options.place ? RedisClusterLink : RedisLink;
  return new Link(options, events, hearsItself);
}
