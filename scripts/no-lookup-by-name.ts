import { ESLintUtils } from '@typescript-eslint/utils'
import { TypeFlags, type Type, type TypeChecker } from 'typescript'

/**
 * Refuses `object[name]` for objects that may have any key. One made with `{}` has `constructor`, `toString` and more
 * without having been given them, and names come from outside.
 */
export const noLookupByName = ESLintUtils.RuleCreator.withoutDocs({
  meta: {
    type: 'problem',
    messages: {
      map: 'Look names up in a Map, or ask Object.hasOwn first: every object has a "constructor".',
    },
    schema: [],
    defaultOptions: [],
  },
  create(context) {
    const services = ESLintUtils.getParserServices(context)
    const checker = services.program.getTypeChecker()
    return {
      'MemberExpression[computed=true]'(node: { object: never; property: never }) {
        const [object, name] = [
          services.getTypeAtLocation(node.object),
          services.getTypeAtLocation(node.property),
        ]
        if (!isAnyName(name) || !hasAnyKey(checker, object)) return
        context.report({ node: node.property, messageId: 'map' })
      },
    }
  },
})

function isAnyName(type: Type): boolean {
  return type.isUnion() ? type.types.some(isAnyName) : (type.flags & TypeFlags.String) !== 0
}

function hasAnyKey(checker: TypeChecker, type: Type): boolean {
  if (type.isUnion()) return type.types.some((one) => hasAnyKey(checker, one))
  return checker.getIndexInfosOfType(type).some(({ keyType }) => (keyType.flags & TypeFlags.String) !== 0)
}
