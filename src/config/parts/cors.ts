import type { SettingsOf } from '../schema/schema.ts'
import type { CorsConfig } from '../causeway-config.ts'
import { field } from '../schema/field.ts'
import { TEXT_LIST, wholeNumber } from '../schema/scalar-kinds.ts'
import { optionalSection } from '../schema/section.ts'

export const cors = optionalSection(
  'Lets pages of other origins send from a browser.',
  {
    allowed_origins: field(
      TEXT_LIST,
      '[]',
      'Origins such as `https://*.example.com`; `*` stands for anything.',
    ),
    allowed_headers: field(TEXT_LIST, '[]', 'Request headers allowed beside the usual ones; `*` allows all.'),
    exposed_headers: field(TEXT_LIST, '[]', 'Response headers that the page may read.'),
    max_age: field(
      wholeNumber(0),
      '0',
      'Seconds, without a unit, that a browser may remember the answer; 0 leaves it to the browser.',
    ),
  },
  [
    ({ allowed_origins, allowed_headers }) =>
      allowed_origins.length === 0 && allowed_headers.length > 0
        ? {
            key: 'allowed_headers',
            message: 'has no effect without allowed_origins; write allowed_origins too',
          }
        : undefined,
  ],
)

export function buildCors(settings: SettingsOf<typeof cors>): CorsConfig | undefined {
  if (settings === undefined || settings.allowed_origins.length === 0) return undefined
  return {
    allowedOrigins: settings.allowed_origins,
    allowedHeaders: settings.allowed_headers,
    exposedHeaders: settings.exposed_headers,
    maxAgeSeconds: settings.max_age,
  }
}
