// Limits: DNS look-ups of host names.
import { MIB } from './units.js';

export const nameLimits = {
  /** host names whose addresses are cached, per process → the least recently used is dropped */
  namesMax: 16_384,
  /** addresses kept of one name → further ones are left out */
  addressesPerNameMax: 32,
  /** shortest time that addresses are cached, even if their TTL is shorter → they are looked up again when next needed */
  nameKeptMsMin: 1_000,
  /** longest time that addresses are cached, even if their TTL is longer → they are looked up again when next needed */
  nameKeptMsMax: 300_000,
  /** time that a failed look-up is remembered → the name is looked up again when next needed */
  nameFaultKeptMs: 1_000,
  /** time that expired addresses are still used while name servers do not answer → the name counts as having no address */
  nameStaleMsMax: 3_600_000,
  /**
   * time that a request waits for name servers when there are expired addresses → the expired ones are used, and the new ones once they
   * arrive
   */
  nameStaleAfterMs: 500,
  /** time for one look-up, including the search list → it has failed */
  nameLookUpMsMax: 5_000,
  /** time for one name server to answer → the next one is asked, or the same one again */
  nameServerMsMax: 1_000,
  /** queries to each name server → the look-up has failed */
  nameServerTriesMax: 3,
  /**
   * wait for IPv4 addresses after the IPv6 ones, or the reverse; some name servers never answer one of the two → the addresses already
   * known are used
   */
  secondAddressKindMs: 50,
  /** one subject gets one in this many look-ups, unless `--name-look-ups-per-subject` is set → its further ones wait */
  nameLookUpShareDivisor: 16,
  /** waiting look-ups, per process → fault `connections-used` */
  nameLookUpsWaitingMax: 16_384,
  /** waiting look-ups of one subject → fault `connections-share-used` */
  nameLookUpsWaitingPerSubjectMax: 1_024,
  /** size of `/etc/hosts` and of `/etc/resolv.conf` → a larger file counts as empty */
  nameFileBytesMax: MIB,
  /** interval between checks whether `/etc/hosts` and `/etc/resolv.conf` have changed → they are checked when a name is next needed */
  nameFileCheckMs: 1_000,
} as const;
