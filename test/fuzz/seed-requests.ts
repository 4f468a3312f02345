import { cpid, logsRequest, mergelogEvent, mergelogsRequest, spansRequest } from '../support/otlp-requests.ts'

const POD = 'v1/pods/default/web-1?uid=5f0c&rv=10'

/** Requests that use every part of what Causeway reads. */
export function traceRequests(): Buffer[] {
  return [
    spansRequest(
      'kubectl',
      [
        {
          trace: 1,
          id: 11,
          cpid: cpid(1),
          status: 2,
          statusMessage: 'no',
          attributes: { 'cpid.wrote': [POD] },
        },
        {
          trace: 2,
          id: 21,
          parent: 20,
          attributes: { 'cpid.observed': [POD], n: 7, ok: true, list: ['a', 'b'] },
        },
        { trace: 2, id: 20, cpid: cpid(2), links: [{ trace: 1, id: 11 }] },
      ],
      'prod',
    ),
    spansRequest('merger', [
      {
        trace: 3,
        id: 31,
        cpid: cpid(3),
        events: [
          { name: 'other', timeUnixNano: '5' },
          mergelogEvent({
            new: cpid(3),
            sources: [cpid(1), cpid(2)],
            time: 7,
            object: POD,
            reason: 'update',
          }),
        ],
      },
    ]),
  ]
}

export function logRequests(): Buffer[] {
  return [
    mergelogsRequest(
      'kubectl',
      [
        { new: cpid(1), object: POD, reason: 'begin' },
        { new: cpid(2) },
        { new: cpid(3), sources: [cpid(1), cpid(2)] },
      ],
      'prod',
    ),
    logsRequest('kubelet', [
      { body: 'started', trace: 1, span: 11, cpid: cpid(1), attributes: { list: ['a'], n: 1 } },
      { body: 'unattributed', attributes: { 'event.name': 'cpid.mergelog' } },
    ]),
  ]
}
