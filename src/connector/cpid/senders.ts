import type { SettingsOf } from '../../config/schema/schema.ts'
import type { SenderGrants, SenderPolicy } from '../../model/senders/sender-policy.ts'
import { field, optionalField } from '../../config/schema/field.ts'
import { FLAG, TEXT, TEXT_LIST, choice } from '../../config/schema/scalar-kinds.ts'
import { optionalSection, section, sections } from '../../config/schema/section.ts'
import { present } from '../../config/parts/present.ts'

/** A pattern with its kind, or for names of hosts. */
const NAMED = /^(?:(?:dns|uri|cn|email|ip):|[^:@/\s]*$)/

const mergeFrom = section(
  'Whose changes its mergelogs may name as sources, so that theirs and its own are joined.',
  {
    clusters: optionalField(
      TEXT_LIST,
      'By the `k8s.cluster.name` that sent the mergelog of that change; left out, the same as `clusters` above.',
    ),
    services: field(TEXT_LIST, "['*']", 'By the `service.name` that sent it.'),
    unknown: field(
      choice(['accept', 'refuse']),
      'accept',
      'Changes whose own mergelog has not arrived. It may come a little later, so that `refuse` also refuses honest senders.',
    ),
  },
)

const grants = (may: 'true' | 'false') => ({
  spans: field(FLAG, may, 'It may send spans.'),
  logs: field(FLAG, may, 'It may send log records that are no mergelogs.'),
  mergelogs: field(FLAG, may, 'It may send mergelogs.'),
  clusters: field(
    TEXT_LIST,
    "['*']",
    'For which `k8s.cluster.name`; `*` stands for anything, and only it fits where a sender names no cluster.',
  ),
  services: field(TEXT_LIST, "['*']", 'For which `service.name`.'),
  join: field(
    choice(['any', 'own']),
    'any',
    'Which changes its spans may join by `cpid.id`: `own` refuses spans of one known to be of another `k8s.cluster.name`, and lets spans without one take none such from a parent.',
  ),
  merge_from: mergeFrom,
})

const rule = section('What some senders may send. The first rule that fits a sender counts.', {
  match: section(
    'Which senders; what is given has to fit.',
    {
      authenticator: optionalField(
        TEXT,
        'The extension that knew the credential, by id, as in `basicauth/*`.',
      ),
      username: optionalField(TEXT, 'The user that logged in by `basicauth`.'),
      certificate: optionalField(
        TEXT,
        'A name in the client’s certificate, with its kind: `dns:*.eu.example.com`, `uri:spiffe://example/*`, `cn:*`, `email:*` or ' +
          '`ip:*`; without one `dns:` is meant.',
      ),
    },
    [
      ({ authenticator, username, certificate }) =>
        (authenticator ?? username ?? certificate) === undefined
          ? {
              key: 'certificate',
              message: 'match needs authenticator, username or certificate; or write it as default',
            }
          : undefined,
      ({ certificate }) =>
        certificate !== undefined && !NAMED.test(certificate)
          ? {
              key: 'certificate',
              message: `is no name of a host, got "${certificate}"; say of which kind it is: cn:${certificate}, uri: or email:`,
            }
          : undefined,
    ],
  ),
  ...grants('true'),
})

export const senders = optionalSection(
  'Who may send what. Left out, everybody may send everything; written, whoever no rule fits has `default`.',
  {
    rules: sections('Rules, the first that fits first.', '[]', rule),
    default: section('What everybody else may send: nothing, unless this says so.', grants('false')),
  },
)

export function buildSenders(settings: SettingsOf<typeof senders>): SenderPolicy | undefined {
  return (
    settings && {
      rules: settings.rules.map(({ match, ...written }) => ({
        match: present(match),
        grants: buildGrants(written),
      })),
      otherwise: buildGrants(settings.default),
    }
  )
}

function buildGrants({ merge_from, ...written }: Omit<SettingsOf<typeof rule>, 'match'>): SenderGrants {
  return {
    ...written,
    mergeFrom: {
      clusters: merge_from.clusters ?? written.clusters,
      services: merge_from.services,
      unknown: merge_from.unknown === 'accept',
    },
  }
}
