// Limits: look-ups of host names.
import { MIB } from './units.js';

export const nameLimits = {
  /** names whose addresses are kept, per process → the one not needed for the longest is dropped */
  namesMax: 16_384,
  /** addresses of one name → further ones are left out */
  addressesPerNameMax: 32,
  /** addresses of a name are taken as they are, even if its records say less → they are asked for again when needed */
  nameKeptMsMin: 1_000,
  /** the same, even if its records say more → they are asked for again when needed */
  nameKeptMsMax: 300_000,
  /** a name without an address → it is asked for again when needed */
  nameFaultKeptMs: 1_000,
  /** addresses out of date, while name servers are silent → the name has no address */
  nameStaleMsMax: 3_600_000,
  /** name servers answering, when there are such addresses → these serve, and newer ones when they come */
  nameStaleAfterMs: 500,
  /** one look-up, its search list included → it has failed */
  nameLookUpMsMax: 5_000,
  /** one name server answering → the next is asked, or the same again */
  nameServerMsMax: 1_000,
  /** questions to each name server → the look-up has failed */
  nameServerTriesMax: 3,
  /**
   * IPv4 addresses after IPv6 ones, or the other way round: some name servers never answer for one of them → those that
   * there are serve
   */
  secondAddressKindMs: 50,
  /** one in so many look-ups is one subject's, unless `--name-look-ups-per-subject` is set → further ones wait */
  nameLookUpShareDivisor: 16,
  /** look-ups that wait, per process → fault `connections-used` */
  nameLookUpsWaitingMax: 16_384,
  /** look-ups of one subject that wait → fault `connections-share-used` */
  nameLookUpsWaitingPerSubjectMax: 1_024,
  /** `/etc/hosts` and `/etc/resolv.conf` → a larger file counts as empty */
  nameFileBytesMax: MIB,
  /** between two looks whether these files have changed → they are looked at when a name is needed */
  nameFileCheckMs: 1_000,
} as const;
