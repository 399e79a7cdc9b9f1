// The documentation of the endpoints, out of /openapi.json.
"use strict";
if (typeof SwaggerUIBundle !== "undefined") {
  SwaggerUIBundle({ url: "/openapi.json", dom_id: "#docs", deepLinking: true, validatorUrl: null, persistAuthorization: false });
}
