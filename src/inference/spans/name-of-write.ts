import type { Decision } from '../decide.ts'

/** What the span of a write is called: `create v1/pods`, `bind v1/pods`, `update apps/v1/deployments status`. */
export function nameOfWrite({ write, part }: Pick<Decision, 'write' | 'part'>): string {
  const of = `${write.object.apiVersion}/${write.object.resource}`
  switch (part) {
    case 'creation':
      return `create ${of}`
    case 'binding':
      return `bind ${of}`
    case 'scale':
      return `scale ${of}`
    case 'deletion':
    case 'removal':
      return `delete ${of}`
    case 'status':
      return `update ${of} status`
    case 'authored':
    case 'heartbeat':
      return `${write.request?.verb === 'patch' ? 'patch' : 'update'} ${of}`
  }
}
