import { z } from 'zod'
import { DashboardSettings } from '../../query/answers/dashboard.ts'
import { openApiDocument } from '../openapi/document.ts'
import { CASCADE_ROUTES } from './about-cascades.ts'
import { CPID_ROUTES } from './about-cpids.ts'
import { LIST_ROUTES } from './lists.ts'
import { aboutRoute, type Route } from './route.ts'

/** Every path under /api/v1: requests are read, and the OpenAPI document is made, by this table. */
export const ROUTES: readonly Route[] = [
  ...CPID_ROUTES,
  ...LIST_ROUTES,
  ...CASCADE_ROUTES,
  aboutRoute('/dashboard', {
    summary: 'What the dashboard needs to know of the configuration',
    answer: DashboardSettings,
    tell: ({ version, traceUrl }): DashboardSettings => ({ traceUrl: traceUrl ?? null, version }),
  }),
  aboutRoute('/openapi.json', {
    summary: 'This document',
    answer: z.looseObject({}).meta({ id: 'OpenApi' }),
    tell: ({ version }) => openApiDocument(ROUTES, version),
  }),
]
