package cpid

import "strings"

// Reference names a Kubernetes object in spans and mergelogs.
type Reference struct {
	// APIVersion is of the form apps/v1; Resource is the plural that the API is served under, such as deployments.
	APIVersion, Resource, Namespace, Name, UID, ResourceVersion string
}

// String is <apiVersion>/<resource>/[<namespace>/]<name>?uid=<uid>&rv=<resourceVersion>; uid and rv are left out if
// empty. The result is empty without apiVersion, resource or name.
func (r Reference) String() string {
	if r.APIVersion == "" || r.Resource == "" || r.Name == "" {
		return ""
	}
	text := r.APIVersion + "/" + r.Resource + "/"
	if r.Namespace != "" {
		text += r.Namespace + "/"
	}
	text += r.Name
	mark := "?"
	if r.UID != "" {
		text += mark + "uid=" + r.UID
		mark = "&"
	}
	if r.ResourceVersion != "" {
		text += mark + "rv=" + r.ResourceVersion
	}
	return text
}

// ResourceOfKind guesses the resource of a kind: the English plural in lower case. Prefer a RESTMapper if there is one.
func ResourceOfKind(kind string) string {
	if kind == "Endpoints" {
		return "endpoints"
	}
	singular := strings.ToLower(kind)
	for _, ending := range []string{"s", "x", "z", "ch", "sh"} {
		if strings.HasSuffix(singular, ending) {
			return singular + "es"
		}
	}
	if stem, ok := strings.CutSuffix(singular, "y"); ok && stem != "" && !strings.ContainsAny(stem[len(stem)-1:], "aeiou") {
		return stem + "ies"
	}
	return singular + "s"
}
