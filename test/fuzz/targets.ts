import type { Target } from './target.ts'
import { json } from './targets/json-target.ts'
import { logs, messages, traces } from './targets/otlp-targets.ts'
import { bodies, replies } from './targets/reply-targets.ts'
import { store } from './targets/store-target.ts'
import { sql, stored } from './targets/stored-targets.ts'
import { apiRequests, config, credentials, instrumentation, queryTexts } from './targets/text-targets.ts'

/** Whatever reads what others wrote. */
export const TARGETS: readonly Target[] = [
  traces,
  logs,
  messages,
  json,
  replies,
  bodies,
  config,
  apiRequests,
  queryTexts,
  instrumentation,
  credentials,
  sql,
  stored,
  store,
]
