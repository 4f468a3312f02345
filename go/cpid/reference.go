package cpid

import "strings"

// Reference is an object of Kubernetes as spans and mergelogs name it.
type Reference struct {
	// APIVersion is of the form apps/v1; Resource is the plural that the API is served under, such as deployments.
	APIVersion, Resource, Namespace, Name, UID, ResourceVersion string
}

// String is <apiVersion>/<resource>/[<namespace>/]<name>?uid=<uid>&rv=<resourceVersion>; uid and rv are left out where there are
// none. It is empty where version, resource or name is missing.
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

// ResourceOfKind guesses the resource that objects of a kind are served as: the English plural in lower case. Ask a RESTMapper
// where there is one.
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
