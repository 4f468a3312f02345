import type { Migration } from 'kysely/migration'
import { up as schema } from './001-schema.ts'
import { up as episodesOfPrunedRoots } from './007-episodes-of-pruned-roots.ts'
import { up as setAside } from './008-set-aside.ts'
import { up as writersByVersion } from './009-writers-by-version.ts'
import { up as sentOnce } from './010-sent-once.ts'
import { up as cascadesOfSeveralTraces } from './011-cascades-of-several-traces.ts'
import { up as inheritedByLogs } from './012-inherited-by-logs.ts'
import { up as usesOfScopes } from './013-uses-of-scopes.ts'
import { up as rankedCpids } from './014-ranked-cpids.ts'
import { up as claimedCpids } from './015-claimed-cpids.ts'
import { up as explainedInTurns } from './016-explained-in-turns.ts'
import { up as sharesOfTraces } from './017-shares-of-traces.ts'
import { up as seenWrites } from './018-seen-writes.ts'
import { up as observedClusters } from './019-observed-clusters.ts'
import { up as whatDrivesASpan } from './020-what-drives-a-span.ts'
import { up as joinedSpans } from './021-joined-spans.ts'
import { up as behindWhatWaits } from './022-behind-what-waits.ts'
import { up as readableVersions } from './023-readable-versions.ts'
import { up as sentOnceMore } from './024-sent-once-more.ts'
import { up as shorterNames } from './025-shorter-names.ts'
import { up as whatChangedWhere } from './026-what-changed-where.ts'
import { up as whatDrivesAChange } from './027-what-drives-a-change.ts'
import { up as missedVersions } from './028-missed-versions.ts'
import { up as namesOfObjects } from './029-names-of-objects.ts'
import { up as archives } from './030-archives.ts'
import { up as changesThatWait } from './031-changes-that-wait.ts'
import { up as failedSpans } from './032-failed-spans.ts'
import { up as heldItems } from './033-held-items.ts'
import { up as podStats } from './034-pod-stats.ts'
import { up as unfinishedSteps } from './035-unfinished-steps.ts'
import { up as boundsOfWhatWasSent } from './036-bounds-of-what-was-sent.ts'
import { up as spanBlocks } from './037-span-blocks.ts'
import { up as workedOutMergelogs } from './038-worked-out-mergelogs.ts'
import { up as longTraces } from './039-long-traces.ts'
import { up as certainVersions } from './040-certain-versions.ts'

/** Every migration in order. Released ones are never edited; a new one is added at the end. */
export const MIGRATIONS: Record<string, Migration> = {
  '001-schema': { up: schema },
  '007-episodes-of-pruned-roots': { up: episodesOfPrunedRoots },
  '008-set-aside': { up: setAside },
  '009-writers-by-version': { up: writersByVersion },
  '010-sent-once': { up: sentOnce },
  '011-cascades-of-several-traces': { up: cascadesOfSeveralTraces },
  '012-inherited-by-logs': { up: inheritedByLogs },
  '013-uses-of-scopes': { up: usesOfScopes },
  '014-ranked-cpids': { up: rankedCpids },
  '015-claimed-cpids': { up: claimedCpids },
  '016-explained-in-turns': { up: explainedInTurns },
  '017-shares-of-traces': { up: sharesOfTraces },
  '018-seen-writes': { up: seenWrites },
  '019-observed-clusters': { up: observedClusters },
  '020-what-drives-a-span': { up: whatDrivesASpan },
  '021-joined-spans': { up: joinedSpans },
  '022-behind-what-waits': { up: behindWhatWaits },
  '023-readable-versions': { up: readableVersions },
  '024-sent-once-more': { up: sentOnceMore },
  '025-shorter-names': { up: shorterNames },
  '026-what-changed-where': { up: whatChangedWhere },
  '027-what-drives-a-change': { up: whatDrivesAChange },
  '028-missed-versions': { up: missedVersions },
  '029-names-of-objects': { up: namesOfObjects },
  '030-archives': { up: archives },
  '031-changes-that-wait': { up: changesThatWait },
  '032-failed-spans': { up: failedSpans },
  '033-held-items': { up: heldItems },
  '034-pod-stats': { up: podStats },
  '035-unfinished-steps': { up: unfinishedSteps },
  '036-bounds-of-what-was-sent': { up: boundsOfWhatWasSent },
  '037-span-blocks': { up: spanBlocks },
  '038-worked-out-mergelogs': { up: workedOutMergelogs },
  '039-long-traces': { up: longTraces },
  '040-certain-versions': { up: certainVersions },
}
