import type { InferenceConfig } from '../../config/causeway-config.ts'
import type { SettingsOf } from '../../config/schema/schema.ts'
import { DURATION } from '../../config/schema/duration.ts'
import { field } from '../../config/schema/field.ts'
import { TEXT_LIST } from '../../config/schema/scalar-kinds.ts'
import { section, sections } from '../../config/schema/section.ts'
import { buildRelation, relation } from './relation.ts'

export const inference = section(
  'How is worked out what caused the writes of clusters that receivers see from outside.',
  {
    who_wait: field(
      DURATION,
      '2s',
      'How long a write that a watch saw waits for the audit log or admission to say who made it.',
    ),
    window: field(
      DURATION,
      '500ms',
      'How long a write waits for what other streams tell of earlier ones; at least so long is it not decided.',
    ),
    operators: field(
      TEXT_LIST,
      '[]',
      'Users or services whose writes begin changes, though they look like controllers; `*` stands for anything.',
    ),
    controllers: field(
      TEXT_LIST,
      '[]',
      'Users or services whose writes follow from what they read, though they look like people.',
    ),
    relations: sections(
      'What writes of custom resources follow from, beside what docs/inference.md lists.',
      '[]',
      relation,
    ),
  },
)

export function buildInference(settings: SettingsOf<typeof inference>): InferenceConfig {
  return {
    whoWaitMs: settings.who_wait,
    windowMs: settings.window,
    operators: settings.operators,
    controllers: settings.controllers,
    relations: settings.relations.map(buildRelation),
  }
}
