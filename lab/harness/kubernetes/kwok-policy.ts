export const KWOK_POLICY = 'kwok-deletes-terminating-pods'

/**
 * kwok deletes a Pod by its name, without its uid. On a busy machine its request can meet the next Pod of that name, as a
 * StatefulSet makes it, and no kubelet would delete that one. The API server refuses it.
 */
export const kwokPolicy = {
  metadata: { name: KWOK_POLICY },
  spec: {
    failurePolicy: 'Fail',
    matchConstraints: {
      resourceRules: [{ apiGroups: [''], apiVersions: ['v1'], operations: ['DELETE'], resources: ['pods'] }],
    },
    matchConditions: [{ name: 'by-kwok', expression: 'request.userInfo.username == "kwok"' }],
    validations: [
      { expression: 'has(oldObject.metadata.deletionTimestamp)', message: 'the Pod is not terminating' },
    ],
  },
}

export const kwokPolicyBinding = {
  metadata: { name: KWOK_POLICY },
  spec: { policyName: KWOK_POLICY, validationActions: ['Deny'] },
}
