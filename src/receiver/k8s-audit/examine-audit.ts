import type { Examination } from '../../config/component-type.ts'
import { isObject, type Json, type JsonObject, objectIn, textIn } from '../../kube/objects/object-json.ts'
import { errorText } from '../../model/faults.ts'
import { openLog } from './audit-log.ts'
import type { K8sAuditSettings } from './k8s-audit-receiver.ts'

/** How much of the end of a log is read, in bytes. */
const NEWEST_BYTES = 1_048_576
const WRITES = new Set(['create', 'update', 'patch', 'delete'])
/** Resources whose contents audit policies should not log, and which the inference does not need. */
const NO_CONTENTS = new Set([
  'secrets',
  'configmaps',
  'events',
  'leases',
  'tokenreviews',
  'subjectaccessreviews',
])
const RULE = '`- { level: RequestResponse, verbs: [create, update, patch, delete] }`'

/** Whether the log can be read, and whether its audit policy records enough. */
export async function* examineAudit(
  id: string,
  { cluster, log }: K8sAuditSettings,
): AsyncGenerator<Examination> {
  if (log === undefined) {
    yield { state: 'ok', message: `${id} receives what the API server of ${cluster} posts` }
    return
  }
  try {
    const lines = await newestLines(log.path)
    yield lines === undefined
      ? {
          state: 'fail',
          message: `${id}: there is no file ${log.path}`,
          advice:
            'write the path of --audit-log-path of the API server, as this machine or container sees it',
        }
      : judge(id, log.path, lines)
  } catch (error) {
    yield {
      state: 'fail',
      message: `${id} cannot read ${log.path}: ${errorText(error)}`,
      advice:
        'let the user that Causeway runs as read the file and its directory: the API server keeps the mode and the group of a log that is there, also when it is rotated',
    }
  }
}

function judge(id: string, path: string, lines: readonly string[]): Examination {
  const events = lines.flatMap((line) => eventIn(line))
  if (events.length === 0) {
    const message = lines.length === 0 ? `${id}: ${path} is empty` : `${id}: no audit event is in ${path}`
    const advice = 'give the API server --audit-policy-file and --audit-log-format=json, and ask again'
    return { state: 'warn', message, advice }
  }
  const writes = events.filter((event) => WRITES.has(textIn(event, 'verb')) && hasContents(event))
  if (writes.length === 0)
    return {
      state: 'warn',
      message: `${id}: none of the newest ${events.length} events in ${path} is a write`,
      advice: `add to the audit policy, before what drops writes: ${RULE}`,
    }
  if (!writes.some((event) => textIn(event, 'stage') === 'ResponseComplete'))
    return {
      state: 'warn',
      message: `${id}: ${path} does not record how writes ended`,
      advice: 'remove ResponseComplete from omitStages of the audit policy',
    }
  const thin = writes.filter((event) => textIn(event, 'level') !== 'RequestResponse')
  const [first] = thin
  if (first === undefined)
    return { state: 'ok', message: `${id}: ${path} records writes with their responses` }
  const { resource, level } = {
    resource: textIn(objectIn(first, 'objectRef'), 'resource'),
    level: textIn(first, 'level'),
  }
  return {
    state: 'warn',
    message: `${id}: ${thin.length} of the newest ${writes.length} writes in ${path} do not record the resourceVersion that they made (${resource} at ${level}): a watch of the cluster has to show it, and what was read is less often exact`,
    advice: `add to the audit policy, before the rule that matches ${resource}: ${RULE}`,
  }
}

function hasContents(event: JsonObject): boolean {
  const reference = objectIn(event, 'objectRef')
  return !NO_CONTENTS.has(textIn(reference, 'resource')) && textIn(reference, 'subresource') !== 'token'
}

function eventIn(line: string): JsonObject[] {
  try {
    const event = JSON.parse(line) as Json
    return isObject(event) && textIn(event, 'apiVersion').startsWith('audit.k8s.io/') ? [event] : []
  } catch {
    return []
  }
}

/** The whole lines at the end of a file; undefined when there is no such file. */
async function newestLines(path: string): Promise<string[] | undefined> {
  await using file = await openLog(path)
  if (file === undefined) return undefined
  const { size } = await file.state()
  const from = Math.max(0, size - NEWEST_BYTES)
  const lines = (await file.read(from, size - from)).toString('utf8').split('\n')
  lines.pop()
  if (from > 0) lines.shift()
  return lines.filter((line) => line.trim() !== '')
}
